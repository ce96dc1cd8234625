"""`PythonRuntime`: warm workers, each with several interpreters of its own, and sandboxes on their slots."""

from __future__ import annotations

import asyncio
import subprocess
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from executor.errors import UnknownRuntime
from executor.runtime.protocol import Program, Step
from executor.runtime.worker import frames
from executor.runtime.worker.frames import Reply, Source, Start
from executor.runtime.worker.pool import WorkerPool
from executor.runtime.worker.process import Worker, launch, sandbox_lost
from executor.runtime.worker.sandbox import PlacedSandbox
from executor.runtime.worker.submitted_code import without_fence

_MODULES = ("executor", "pydantic_monty", "orjson")
_CALL = "main(sys.argv[1], int(sys.argv[2]), [int(n) for n in sys.argv[3].split(',')])"


def find_interpreter() -> Path:
    """Monty's executable. The package itself is not imported: its library would stay in the daemon's memory."""
    package = find_spec("pydantic_monty")
    try:
        if package is None or not package.submodule_search_locations:
            raise FileNotFoundError("pydantic_monty is not installed")
        finder = spec_from_file_location("monty_binary", Path(package.submodule_search_locations[0], "_binary.py"))
        if finder is None or finder.loader is None:
            raise FileNotFoundError("pydantic_monty is incomplete")
        module = module_from_spec(finder)
        finder.loader.exec_module(module)
        return Path(module.find_monty_binary()).resolve(strict=True)
    except OSError as error:
        hint = "install it again with `pip install --force-reinstall pydantic-monty==1.4.0`"
        raise UnknownRuntime(f"the interpreter of the Python runtime is missing: {error}", hint=hint) from error


class PythonWorker(Worker):
    """`image` is the interpreter's executable."""

    def _popen(self, descriptors: list[int]) -> subprocess.Popen[bytes]:
        control, *slots = descriptors
        arguments = [str(self.image), str(control), ",".join(map(str, slots))]
        return launch("python.worker_main", _CALL, arguments, descriptors, _MODULES)


class PythonSandbox(PlacedSandbox):
    async def _first_step(self, program: Program) -> Step:
        limits = program.limits
        self._expect(limits)
        bounds = (limits.memory_bytes, limits.cpu_ms, limits.calls, limits.output_bytes, limits.log_bytes)
        code = without_fence(program.code.encode("utf-8", "replace"))
        start = Start(program.seed, program.clock_ms, *bounds, False, Source(code, 0, callable=False))
        return self._read(await self._ask(frames.encode_start(start)))

    def _read(self, reply: Reply) -> Step:
        """An interpreter that died under its program is a lost sandbox: the execution is taken up on another."""
        if reply.fault is not None and reply.fault.code == "sandbox_lost":
            raise sandbox_lost(reply.fault.message, innocent=False)
        return super()._read(reply)


class PythonRuntime(WorkerPool):
    languages: tuple[str, ...] = ("python",)

    async def _ensure_image(self) -> Path:
        return await asyncio.to_thread(find_interpreter)

    def _new_worker(self, image: Path) -> Worker:
        return PythonWorker(image, self._slots, self._on_end, lambda place: self.turns.relieve())

    async def open(self) -> PythonSandbox:
        return PythonSandbox(self, await self.place())
