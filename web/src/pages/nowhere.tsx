import { Link } from "@tanstack/react-router";
import { looks } from "@/ui/button";

export function Nowhere() {
  return (
    <main className="mx-auto max-w-md px-6 py-24 text-center">
      <h1 className="font-semibold text-xl">There is no such page</h1>
      <p className="mt-2 text-dim">The address may be incomplete: copy the whole link.</p>
      <Link to="/" className={`${looks("plain")} mt-5`}>
        To the sources
      </Link>
    </main>
  );
}
