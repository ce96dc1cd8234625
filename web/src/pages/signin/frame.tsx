import { type ReactNode, useEffect } from "react";
import { Mark } from "@/shell/mark";
import { setTitle } from "@/shell/title";

export function SignInFrame({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => setTitle(title), [title]);
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-10">
      <div className="card w-full max-w-md p-6 sm:p-8">
        <div className="mb-5 flex items-center gap-3">
          <Mark size={30} />
          <h1 className="font-semibold text-lg tracking-tight">{title}</h1>
        </div>
        {children}
      </div>
    </main>
  );
}
