import { Fragment } from "react";
import { visible } from "@/text/visible";

/** A tool's path: where it is too long for a line, it is broken after a dot rather than within a name. */
export function Path({ path }: { path: string }) {
  return visible(path)
    .split(".")
    .map((part, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
      <Fragment key={at}>
        {at > 0 && (
          <>
            .<wbr />
          </>
        )}
        {part}
      </Fragment>
    ));
}
