/** Keys, as they are written on a keyboard. */
export function Kbd({ keys }: { keys: string[] }) {
  return (
    <span className="inline-flex items-center gap-1 whitespace-nowrap">
      {keys.map((key) => (
        <kbd
          key={key}
          className="min-w-5 rounded-[5px] border border-line border-b-2 bg-raised px-1.5 text-center font-mono text-[0.7rem] leading-4.5 text-dim"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}
