;; Grafted onto quickjs.wasm: the functions the engine would import from a host, and the ones a step enters through.
;; The first twelve functions replace the engine's imports, in their order. After the graft the module imports nothing:
;; code in the sandbox can reach no host function at all, and Date, time zones and loops never wait for Python's lock.
(module
  (import "engine" "memory" (memory 0))
  (import "engine" "wasm_malloc" (func $malloc (param i32) (result i32)))
  (import "engine" "wasm_free" (func $free (param i32)))
  (import "engine" "qjs_init" (func $qjs_init (result i32)))
  (import "engine" "qjs_set_max_stack_size" (func $set_max_stack_size (param i32)))
  (import "engine" "qjs_set_interrupt_handler" (func $set_interrupt_handler (param i32)))
  (import "engine" "qjs_run_gc" (func $run_gc))
  (import "engine" "qjs_new_host_function" (func $new_host_function (param i32 i32 i32) (result i32)))
  (import "engine" "qjs_get_undefined" (func $get_undefined (result i32)))
  (import "engine" "qjs_get_prop_uint32" (func $get_item (param i32 i32) (result i32)))
  (import "engine" "qjs_new_string" (func $new_string (param i32 i32) (result i32)))
  (import "engine" "qjs_new_number" (func $new_number (param f64) (result i32)))
  (import "engine" "qjs_call" (func $qjs_call (param i32 i32 i32 i32) (result i32)))
  (import "engine" "qjs_eval" (func $qjs_eval (param i32 i32 i32 i32) (result i32)))
  (import "engine" "qjs_is_exception" (func $is_exception (param i32) (result i32)))
  (import "engine" "qjs_get_exception" (func $get_exception (result i32)))
  (import "engine" "qjs_get_bool" (func $get_bool (param i32) (result i32)))
  (import "engine" "qjs_free_value" (func $free_value (param i32)))
  (import "engine" "qjs_is_job_pending" (func $is_job_pending (result i32)))
  (import "engine" "qjs_execute_pending_job" (func $execute_pending_job (result i32)))
  (import "engine" "qjs_get_string_len" (func $get_string (param i32 i32) (result i32)))
  (import "engine" "qjs_free_cstring" (func $free_string (param i32)))

  (global $clock (mut i64) (i64.const 0))     ;; nanoseconds since 1970, fixed within a step
  (global $scratch (mut i32) (i32.const 0))   ;; 0: argv, 16: a length, 20: the interrupt flag, 24 to 47: names
  (global $buffer (mut i32) (i32.const 0))    ;; 4096 bytes for small input
  (global $out (mut i32) (i32.const 0))       ;; text of the last step, freed when the next one begins
  (global $undefined (mut i32) (i32.const 0))
  (global $boot (mut i32) (i32.const 0))
  (global $run (mut i32) (i32.const 0))
  (global $refuse (mut i32) (i32.const 0))
  (global $answer (mut i32) (i32.const 0))
  (global $turn (mut i32) (i32.const 0))
  (global $flush (mut i32) (i32.const 0))
  (global $ended (mut i32) (i32.const 0))

  (func $host_get_timezone_offset (param i32 i32) (result i32) (i32.const 0))
  (func $host_interrupt (result i32) (i32.load8_u offset=20 (global.get $scratch)))
  (func $host_promise_rejection (param i32 i32 i32))
  (func $host_module_normalize (param i32 i32) (result i32) (i32.const 0))
  (func $host_module_load (param i32 i32) (result i32) (i32.const 0))
  (func $host_call (param i32 i32 i32 i32 i32) (result i32)  ;; only `stop` is one: the engine throws at its next look
    (i32.store8 offset=20 (global.get $scratch) (i32.const 1))
    (call $get_undefined))
  (func $clock_time_get (param i32 i64 i32) (result i32)
    (i64.store (local.get 2) (global.get $clock))
    (i32.const 0))
  (func $fd_close (param i32) (result i32) (i32.const 8))
  (func $fd_fdstat_get (param i32 i32) (result i32) (i32.const 8))
  (func $fd_seek (param i32 i64 i32 i32) (result i32) (i32.const 8))
  (func $fd_write (param i32 i32 i32 i32) (result i32) (i32.const 8))
  (func $random_get (param i32 i32) (result i32)
    (memory.fill (local.get 0) (i32.const 66) (local.get 1))
    (i32.const 0))

  ;; call a function with up to three arguments that lie in scratch; frees the arguments
  (func $call (param $function i32) (param $count i32) (result i32)
    (local $result i32) (local $index i32)
    (local.set $result
      (call $qjs_call (local.get $function) (global.get $undefined) (local.get $count) (global.get $scratch)))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $index) (local.get $count)))
      (call $free_value
        (i32.load (i32.add (global.get $scratch) (i32.shl (local.get $index) (i32.const 2)))))
      (local.set $index (i32.add (local.get $index) (i32.const 1)))
      (br $next)))
    (local.get $result))

  (func $release (param $pointer i32)
    (if (i32.ne (local.get $pointer) (global.get $buffer)) (then (call $free (local.get $pointer)))))

  (func $flagged (result i32) (i32.load8_u offset=20 (global.get $scratch)))

  (func $holds (param $question i32) (result i32)
    (local $result i32) (local $yes i32)
    (local.set $result (call $call (local.get $question) (i32.const 0)))
    (local.set $yes (i32.and
      (i32.eqz (call $is_exception (local.get $result)))
      (call $get_bool (local.get $result))))
    (call $free_value (local.get $result))
    (local.get $yes))

  ;; run promise jobs, then one timer that is due now, until neither is left, the flag is raised, or the program has
  ;; ended: what it left running then must not go on for ever, so that is asked after every 256 jobs
  (func $drain
    (local $jobs i32)
    (loop $again
      (block $dry (loop $next
        (br_if $dry (call $flagged))
        (br_if $dry (i32.eqz (call $is_job_pending)))
        (drop (call $execute_pending_job))
        (local.set $jobs (i32.add (local.get $jobs) (i32.const 1)))
        (br_if $next (i32.and (local.get $jobs) (i32.const 255)))
        (br_if $next (i32.eqz (call $holds (global.get $ended))))
        (return)))
      (if (i32.eqz (call $flagged)) (then (br_if $again (call $holds (global.get $turn)))))))

  ;; the text of what came out: pointer in the high half, length in the low; 0 when there was no memory left for it
  (func $finish (result i64)
    (local $result i32)
    (call $drain)
    (i32.store8 offset=20 (global.get $scratch) (i32.const 0))
    (local.set $result (call $call (global.get $flush) (i32.const 0)))
    (if (call $is_exception (local.get $result)) (then (return (i64.const 0))))
    (global.set $out
      (call $get_string (local.get $result) (i32.add (global.get $scratch) (i32.const 16))))
    (call $free_value (local.get $result))
    (if (i32.eqz (global.get $out)) (then (return (i64.const 0))))
    (i64.or
      (i64.shl (i64.extend_i32_u (global.get $out)) (i64.const 32))
      (i64.extend_i32_u (i32.load offset=16 (global.get $scratch)))))

  (func $begin (param $clock i64)
    (global.set $clock (local.get $clock))
    (if (global.get $out) (then
      (call $free_string (global.get $out))
      (global.set $out (i32.const 0)))))

  ;; where the host writes the input of the next call: `size` bytes and a zero
  (func (export "allocate") (param $size i32) (result i32)
    (if (i32.lt_u (local.get $size) (i32.const 4096)) (then (return (global.get $buffer))))
    (call $malloc (i32.add (local.get $size) (i32.const 1))))

  (func (export "flag") (result i32) (i32.add (global.get $scratch) (i32.const 20)))

  ;; made once, before the image is baked: evaluate the prelude and keep the functions it returns. 0 when it went well
  (func (export "initialize") (param $pointer i32) (param $length i32) (result i32)
    (local $functions i32) (local $adopt i32)
    (if (call $qjs_init) (then (return (i32.const 1))))
    (call $set_max_stack_size (i32.const 262144))
    (global.set $scratch (call $malloc (i32.const 64)))
    (i64.store offset=16 (global.get $scratch) (i64.const 0))
    (i64.store offset=24 (global.get $scratch) (i64.const 0x0073742e6e69616d))  ;; "main.ts"
    (i64.store offset=32 (global.get $scratch) (i64.const 0x006564756c657270))  ;; "prelude"
    (i64.store offset=40 (global.get $scratch) (i64.const 0x00000000706f7473))  ;; "stop"
    (global.set $buffer (call $malloc (i32.const 4096)))
    (global.set $undefined (call $get_undefined))
    (local.set $functions
      (call $qjs_eval (local.get $pointer) (local.get $length)
          (i32.add (global.get $scratch) (i32.const 32)) (i32.const 0)))
    (if (call $is_exception (local.get $functions)) (then (return (i32.const 2))))
    (global.set $boot (call $get_item (local.get $functions) (i32.const 0)))
    (global.set $run (call $get_item (local.get $functions) (i32.const 1)))
    (global.set $refuse (call $get_item (local.get $functions) (i32.const 2)))
    (global.set $answer (call $get_item (local.get $functions) (i32.const 3)))
    (global.set $turn (call $get_item (local.get $functions) (i32.const 4)))
    (global.set $flush (call $get_item (local.get $functions) (i32.const 5)))
    (global.set $ended (call $get_item (local.get $functions) (i32.const 6)))
    (i32.store (global.get $scratch)
      (call $new_host_function (i32.add (global.get $scratch) (i32.const 40)) (i32.const 4) (i32.const 0)))
    (local.set $adopt (call $get_item (local.get $functions) (i32.const 7)))
    (call $free_value (call $call (local.get $adopt) (i32.const 1)))
    (call $free_value (local.get $adopt))
    (call $free_value (local.get $functions))
    (call $free (local.get $pointer))
    (call $set_interrupt_handler (i32.const 1))
    (call $run_gc)
    (i32.const 0))

  ;; why `initialize` returned 2
  (func (export "complaint") (result i64)
    (global.set $out (call $get_string (call $get_exception) (i32.add (global.get $scratch) (i32.const 16))))
    (i64.or
      (i64.shl (i64.extend_i32_u (global.get $out)) (i64.const 32))
      (i64.extend_i32_u (i32.load offset=16 (global.get $scratch)))))

  ;; seed and limits of this execution. 0 when it went well
  (func (export "boot") (param $clock i64) (param $pointer i32) (param $length i32) (result i32)
    (local $result i32)
    (call $begin (local.get $clock))
    (i32.store (global.get $scratch) (call $new_string (local.get $pointer) (local.get $length)))
    (call $release (local.get $pointer))
    (local.set $result (call $call (global.get $boot) (i32.const 1)))
    (call $is_exception (local.get $result)))

  ;; evaluate the program, an expression that gives a function, and run it
  (func (export "start") (param $clock i64) (param $pointer i32) (param $length i32) (result i64)
    (local $program i32)
    (call $begin (local.get $clock))
    (local.set $program
      (call $qjs_eval (local.get $pointer) (local.get $length)
        (i32.add (global.get $scratch) (i32.const 24)) (i32.const 0)))
    (call $release (local.get $pointer))
    (if (call $is_exception (local.get $program))
      (then
        (call $free_value (local.get $program))
        (i32.store (global.get $scratch) (call $get_exception))
        (call $free_value (call $call (global.get $refuse) (i32.const 1))))
      (else
        (i32.store (global.get $scratch) (local.get $program))
        (call $free_value (call $call (global.get $run) (i32.const 1)))))
    (call $finish))

  (func (export "answer")
    (param $clock i64) (param $seq i32) (param $succeeded i32) (param $pointer i32) (param $length i32) (result i64)
    (local $text i32)
    (call $begin (local.get $clock))
    (local.set $text (call $new_string (local.get $pointer) (local.get $length)))
    (call $release (local.get $pointer))
    (if (call $is_exception (local.get $text)) (then (return (i64.const 0))))
    (i32.store (global.get $scratch) (call $new_number (f64.convert_i32_u (local.get $seq))))
    (i32.store offset=4 (global.get $scratch) (call $new_number (f64.convert_i32_u (local.get $succeeded))))
    (i32.store offset=8 (global.get $scratch) (local.get $text))
    (call $free_value (call $call (global.get $answer) (i32.const 3)))
    (call $finish))
)
