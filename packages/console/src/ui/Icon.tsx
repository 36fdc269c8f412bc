/** Line icons of 18 pixels, drawn for this console; beside a text they are hidden from screen readers. */
const paths = {
  overview: "M3 10h5V3H3zM10 15h5V8h-5zM3 15h5v-3H3zM10 6h5V3h-5z",
  memories: "M3 4.5h12M3 9h12M3 13.5h8",
  search: "M8 13a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM11.8 11.8 15.5 15.5",
  map: "M5 6.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM12.5 9a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM7 14.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z",
  conversations: "M3 4h12v8H8l-3 3v-3H3z",
  subjects: "M9 8.5a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM3.5 15c.6-3 2.8-4.5 5.5-4.5s4.900 1.500 5.500 4.500",
  people:
    "M6.500 8.500a2.300 2.300 0 1 0 0-4.600 2.300 2.300 0 0 0 0 4.600zM2.500 14.500c.4-2.600 2-4 4-4s3.600 1.400 4 4M11.500 4.200a2.300 2.300 0 0 1 0 4.200M12.500 10.800c1.600.5 2.700 1.700 3 3.700",
  playground: "M3 3.500h9v6.500H7l-2.500 2.500V10H3zM14 7.500h1.500v6H14v2l-2.500-2H8.500",
  context: "M3 3.500h12v11H3zM5.500 6.500h7M5.500 9h7M5.500 11.500h4",
  schemas: "M6 3H4v12h2M12 3h2v12h-2M7.500 7h3M7.500 11h3",
  accounts:
    "M6 8.500a2.300 2.300 0 1 0 0-4.600 2.300 2.300 0 0 0 0 4.600zM2 14.500c.4-2.600 2-4 4-4s3.600 1.400 4 4M12 8h4M14 6v4",
  add: "M9 3.500v11M3.500 9h11",
  bin: "M3 5h12M7 5V3h4v2M4.500 5l.8 10h7.400l.8-10M7.500 8v4.500M10.500 8v4.500",
  money: "M2.500 5h13v8h-13zM9 11a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  system: "M3 4h12v4H3zM3 10h12v4H3zM5.500 6h.01M5.500 12h.01",
  audit: "M4 2.500h7l3 3v10H4zM6.500 8h5M6.500 11h5",
  good: "M3.500 9.500 7 13l7.500-8",
  warn: "M9 3 1.800 15h14.400zM9 8v3.500M9 13.300h.01",
  bad: "M4.500 4.500l9 9M13.500 4.500l-9 9",
  close: "M4.500 4.500l9 9M13.500 4.500l-9 9",
  menu: "M3 5h12M3 9h12M3 13h12",
  moon: "M14.500 10.800A6 6 0 1 1 7.200 3.500a4.800 4.800 0 0 0 7.300 7.300z",
  sun: "M9 12a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM9 1.500v1.500M9 15v1.500M1.500 9H3M15 9h1.500M3.700 3.700l1.060 1.060M13.240 13.240l1.060 1.060M3.700 14.300l1.060-1.060M13.240 4.760l1.060-1.060",
  filter: "M2.500 4.500h13M5 9h8M7.500 13.500h3",
  live: "M2 9.500h3L7.500 4l3.500 10 2-4.500h3",
  logo: "M3 14.500V4l6 5 6-5v10.500M3 14.500h12"
} as const

export type IconName = keyof typeof paths

export const Icon = ({ className, name }: { readonly name: IconName; readonly className?: string }) => (
  <svg
    class={className}
    width="18"
    height="18"
    viewBox="0 0 18 18"
    fill="none"
    stroke="currentColor"
    stroke-width="1.6"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d={paths[name]} />
  </svg>
)
