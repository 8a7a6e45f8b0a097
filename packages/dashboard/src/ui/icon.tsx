/** Strokes of the icons, on a grid of 16 × 16. */
const strokes = {
  bolt: 'M9 1.75 3.5 9h4l-.5 5.25L12.5 7h-4z',
  bulb: 'M6 11.5c0-1.75-2-2.25-2-4.9a4 4 0 0 1 8 0c0 2.65-2 3.15-2 4.9zM6.5 14h3',
  chart: 'M2 13.75h12M4.25 11V8.25M8 11V3M11.75 11V5.75',
  chat: 'M2.25 3.25h11.5V11H8.25L5 13.5V11H2.25z',
  check: 'M3 8.75 6.25 12 13 4.5',
  chevron: 'm6 4 4 4-4 4',
  clock: 'M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM8 4.5V8l2.5 1.75',
  code: 'M5.25 4.25 1.5 8l3.75 3.75M10.75 4.25 14.5 8l-3.75 3.75M9.25 2.75l-2.5 10.5',
  folder: 'M2 3.75h4.25L7.75 5.5H14v7.25H2z',
  globe: 'M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0zM2 8h12M8 2c2.65 3 2.65 9 0 12M8 2c-2.65 3-2.65 9 0 12',
  home: 'M2.5 7.25 8 2.75l5.5 4.5v6.25H9.75v-3.75h-3.5v3.75H2.5z',
  key: 'M8.25 10.5a2.9 2.9 0 1 1-5.8 0 2.9 2.9 0 0 1 5.8 0zM7.5 8.5 13.25 2.75M10.75 5.25l2.25 2.25',
  list: 'M5.75 3.75h8M5.75 8h8M5.75 12.25h8M2.5 3.75h.01M2.5 8h.01M2.5 12.25h.01',
  mail: 'M2 3.5h12v9H2zM2.25 4 8 8.75 13.75 4',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  person:
    'M10.75 5.25a2.75 2.75 0 1 1-5.5 0 2.75 2.75 0 0 1 5.5 0zM2.75 13.75c.4-2.75 2.4-4.25 5.25-4.25s4.85 1.5 5.25 4.25',
  search: 'M11.25 7a4.25 4.25 0 1 1-8.5 0 4.25 4.25 0 0 1 8.5 0zM10.25 10.25l3.25 3.25',
  send: 'M14 2 7.25 8.75M14 2 9.75 14 7.25 8.75 2 6.25z',
  shield:
    'M8 1.75 2.75 3.75v3.75c0 3.25 2.25 5.5 5.25 6.75 3-1.25 5.25-3.5 5.25-6.75V3.75zM5.75 7.9l1.65 1.65 2.95-3.15',
  signIn: 'M9.25 2.5h4.25v11H9.25M2.25 8h7.25M7 5.25 9.75 8 7 10.75',
  sliders:
    'M2.25 4.75h6.25M11.75 4.75h2M2.25 11.25h2M7.5 11.25h6.25M11.75 4.75a1.6 1.6 0 1 1-3.2 0 1.6 1.6 0 0 1 3.2 0zM7.45 11.25a1.6 1.6 0 1 1-3.2 0 1.6 1.6 0 0 1 3.2 0z',
  structure:
    'M5.75 2.25h4.5v3.5h-4.5zM2 10.25h4.5v3.5H2zM9.5 10.25H14v3.5H9.5zM8 5.75V8M4.25 10.25V8h7.5v2.25',
  table: 'M2.25 2.75h11.5v10.5H2.25zM2.25 6.25h11.5M6.25 6.25v7',
  terminal: 'M2 2.75h12v10.5H2zM4.75 6l2 2-2 2M8.25 10.25h3',
  users:
    'M8.25 5.25a2.4 2.4 0 1 1-4.8 0 2.4 2.4 0 0 1 4.8 0zM1.5 13.5c.3-2.6 1.9-4 4.35-4s4.05 1.4 4.35 4M10.75 3a2.35 2.35 0 0 1 0 4.5M12.25 9.75c1.3.6 2.05 1.85 2.25 3.75',
} as const

export type IconName = keyof typeof strokes

/** Renders an icon beside a text, which names it. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={strokes[name]} />
    </svg>
  )
}

/** Renders the mark of Basalt: three columns of rock. */
export function Mark({ size = 22 }: { readonly size?: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <path fill="#2c5a70" d="M2 13l5-3 5 3v16H2z" />
      <path fill="#3f86a6" d="M11 6l5-3 5 3v23H11z" />
      <path fill="#7fb8cf" d="M20 17l5-3 5 3v12H20z" />
    </svg>
  )
}
