/** Addresses of the screen, below `/admin`. */
export const tableAddress = ({ schema, name }: { readonly schema: string; readonly name: string }) =>
  `/structure/tables/${encodeURIComponent(schema)}/${encodeURIComponent(name)}`

/** A table with its neighbours. */
export const diagramAddress = ({ schema, name }: { readonly schema: string; readonly name: string }) =>
  `/structure?${new URLSearchParams({ view: 'diagram', schema, near: name })}`

export const newTableAddress = '/structure/new'
