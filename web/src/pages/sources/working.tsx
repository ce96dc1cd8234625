import { Loader } from "lucide-react";
import { visible } from "@/text/visible";

export function Working({ text }: { text: string }) {
  return (
    <p role="status" className="flex items-center gap-2 text-dim text-sm">
      <Loader size={14} aria-hidden="true" className="animate-spin" />
      <span className="min-w-0 break-words">{visible(text)} …</span>
    </p>
  );
}
