// What the process calls in this realm. Only texts, numbers and truth values cross, so that no object of the one realm
// is ever seen in the other. The one function that comes in, `given`, ends the process: what it throws stays here.
const refuseAt = (message, line, column) => {
  if (line > 0 && line <= program.endOf[0]) end = syntaxError(message, line, userColumn(line, column));
  else if (program.stray[0] > 0) end = syntaxError("a bracket that closes nothing", program.stray[0], program.stray[1]);
  else end = syntaxError("unexpected end of the code", max(1, program.endOf[0]), max(1, program.endOf[1]));
};
let leave = () => {};
const adoptEnd = (given) => {
  leave = () => {
    for (;;) {
      try {
        given();
      } catch {
        // out of stack: the loop goes on until the time is up
      }
    }
  };
  adopt(leave);
};

// What the program left running must not hold its result back: the process ends with it.
const runToEnd = async (main) => {
  await run(main);
  leave();
};
return [boot, runToEnd, refuseAt, answer, turn, flush, ended, adoptEnd, setClock];
