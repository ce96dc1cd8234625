import { useNavigate } from "@tanstack/react-router";
import { ChevronDown, Link2, Play, Search, Square, Undo2 } from "lucide-react";
import { DropdownMenu as Menu } from "radix-ui";
import { ITEM, MENU } from "@/shell/menu";
import { visible } from "@/text/visible";
import { Button, IconButton } from "@/ui/button";
import { Segments } from "@/ui/segments";
import { tell } from "@/ui/toast";
import { useExamples } from "./examples";
import { type Language, NAMES } from "./language";
import { isFinal, type Run } from "./running";

type Props = {
  language: Language;
  run: Run;
  code: string;
  may: boolean;
  origin?: string;
  changed: boolean;
  onRun: () => void;
  onFind: () => void;
  onExample: (code: string) => void;
  onReset: () => void;
};

export function Toolbar(props: Props) {
  const { language, run, changed } = props;
  const navigate = useNavigate({ from: "/playground" });
  const options = Object.entries(NAMES).map(([id, title]) => ({ id: id as Language, title }));
  return (
    <div className="flex flex-wrap items-center gap-1.5 border-line border-b px-2 py-1.5">
      <Segments
        label="Language"
        options={options}
        value={language}
        onChange={(chosen) => void navigate({ search: { language: chosen, run: undefined } })}
      />
      <Examples language={language} onPick={props.onExample} />
      <Button look="ghost" size="small" onClick={props.onFind} title="Ctrl+I">
        <Search size={13} aria-hidden="true" /> Find a tool
      </Button>
      {changed && (
        <IconButton label="Reset" onClick={props.onReset}>
          <Undo2 size={14} aria-hidden="true" />
        </IconButton>
      )}
      <div className="ml-auto flex items-center gap-1.5">
        <Share {...props} />
        {run.busy && run.shown && !isFinal(run.shown) ? (
          <Button
            look="danger"
            busy={run.cancel.isPending}
            onClick={() => run.shown && run.cancel.mutate(run.shown.executionId)}
          >
            <Square size={12} aria-hidden="true" /> Cancel
          </Button>
        ) : (
          <Button
            look="primary"
            busy={run.begin.isPending}
            disabled={!props.may}
            onClick={props.onRun}
            title="Ctrl+Enter"
          >
            <Play size={13} aria-hidden="true" /> Run
          </Button>
        )}
      </div>
    </div>
  );
}

function Examples({ language, onPick }: { language: Language; onPick: (code: string) => void }) {
  const examples = useExamples(language);
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger asChild>
        <Button look="ghost" size="small">
          Examples <ChevronDown size={13} aria-hidden="true" />
        </Button>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content align="start" sideOffset={4} className={MENU}>
          {examples.map((one) => (
            <Menu.Item key={one.title} className={ITEM} onSelect={() => onPick(one.code)}>
              <span className="min-w-0">
                <span className="block">{one.title}</span>
                <span className="block truncate text-dim text-xs">{visible(one.about)}</span>
              </span>
            </Menu.Item>
          ))}
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}

/** A link is to a run: what was not run is nowhere but in this browser. */
function Share({ run, code, origin }: Props) {
  const ran = run.shown?.code === code ? run.shown.executionId : undefined;
  const id = ran ?? (origin && !run.shown ? origin : undefined);
  const copy = async () => {
    await navigator.clipboard.writeText(`${window.location.origin}/playground?from=${id}`);
    tell("Link copied. Anyone in this workspace can open it");
  };
  return (
    <IconButton
      label={id ? "Copy a link to this code" : "Run the code first to get a link"}
      disabled={!id}
      onClick={() => void copy()}
    >
      <Link2 size={14} aria-hidden="true" />
    </IconButton>
  );
}
