import Markdown from "react-markdown";
import gfm from "remark-gfm";
import { visible } from "@/text/visible";
import { Code } from "@/ui/code";

/** What an agent writes. Its HTML stays text, its pictures are not loaded, and its links open elsewhere. */
export function AgentText({ text }: { text: string }) {
  return (
    <div className="min-w-0 space-y-2 break-words text-sm leading-6 [&_h1]:font-semibold [&_h2]:font-semibold [&_h3]:font-semibold [&_li]:ml-5 [&_ol]:list-decimal [&_table]:block [&_table]:overflow-x-auto [&_td]:border [&_td]:border-line [&_td]:px-2 [&_th]:border [&_th]:border-line [&_th]:px-2 [&_ul]:list-disc">
      <Markdown
        remarkPlugins={[gfm]}
        components={{
          a: ({ href, children }) => (
            <a href={href} target="_blank" rel="noreferrer noopener" title={href} className="text-accent underline">
              {children}
            </a>
          ),
          img: ({ alt, src }) => <span className="text-dim">[picture: {alt || String(src ?? "")}]</span>,
          pre: ({ children }) => <div className="my-2">{children}</div>,
          code: ({ className, children }) => {
            const written = String(children ?? "");
            const language = /language-(\w+)/.exec(className ?? "")?.[1];
            if (!language && !written.includes("\n"))
              return <code className="rounded bg-raised px-1 font-mono text-[0.85em]">{children}</code>;
            return (
              <Code text={written.replace(/\n$/, "")} label="code" numbers={false} language={language ?? "text"} />
            );
          },
        }}
      >
        {visible(text, "\n\t")}
      </Markdown>
    </div>
  );
}
