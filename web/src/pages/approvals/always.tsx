import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { get, query } from "@/api/client";
import type { Always, Interaction } from "@/api/types";
import { Button } from "@/ui/button";
import { Tick } from "@/ui/field";
import { Loaded } from "@/ui/states";
import { type Answer, draftOf } from "./answer";
import { type Breadth, Breadths, Pins } from "./breadth";
import { PolicyDiff } from "./policydiff";

type Props = { asked: Interaction; busy: boolean; onSave: (answer: Answer) => void };

/** The policy as it would be saved, before it is: how wide it is can be chosen, the narrowest comes first. */
export function AlwaysPolicy({ asked, busy, onSave }: Props) {
  const [covers, setCovers] = useState<Breadth>("tool");
  const [pins, setPins] = useState<string[]>([]);
  const [meant, setMeant] = useState(false);
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    panel.current?.scrollIntoView({ block: "start" });
  }, []);
  const pinned = covers === "tool" ? pins : [];
  const draft = useQuery({
    queryKey: ["interaction", asked.id, "rule", covers, ...pinned],
    queryFn: ({ signal }) => get(`/v1/interactions/${asked.id}/rule${query({ covers, pin: pinned })}`, signal),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const turn = (pin: string) => setPins(pins.includes(pin) ? pins.filter((one) => one !== pin) : [...pins, pin]);
  const choose = (wanted: Breadth) => {
    setMeant(false);
    setCovers(wanted);
  };
  const broad = covers === "source";
  const unsettled = busy || draft.isPlaceholderData || draft.isError || (broad && !meant);
  const save = ({ rule }: Always) => onSave({ act: "approve", scope: "always", rule: draftOf(rule), broader: broad });
  return (
    <section
      aria-label="Always allow"
      data-tall
      ref={panel}
      className="scroll-mt-4 rounded-xl border border-line bg-canvas p-4"
    >
      <Breadths asked={asked} chosen={covers} onChoose={choose} />
      {covers === "tool" && <Pins asked={asked} pins={pins} onTurn={turn} />}
      <Loaded asked={draft.isError ? { ...draft, data: undefined } : draft} rows={3}>
        {(always) => (
          <div className="mt-4 space-y-3">
            <PolicyDiff always={always} />
            {broad && (
              <Tick
                checked={meant}
                onChange={(event) => setMeant(event.target.checked)}
                label={`Yes, all ${always.matches.count} tools, including those that the source adds later`}
              />
            )}
            <Button look="primary" disabled={unsettled} onClick={() => save(always)}>
              Save the policy and allow
            </Button>
          </div>
        )}
      </Loaded>
    </section>
  );
}
