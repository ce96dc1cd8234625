export function Mark({ size = 22 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#4650dd" />
      <path
        d="M10 9l7 7-7 7"
        fill="none"
        stroke="#fff"
        strokeWidth="3.2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
      <path d="M18.5 23H24" stroke="#fff" strokeWidth="3.2" strokeLinecap="round" />
    </svg>
  );
}
