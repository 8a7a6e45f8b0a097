/** Returns the path of a table in this screen, below `/admin`. */
export const tableAddress = ({ schema, name }: { readonly schema: string; readonly name: string }) =>
  `/structure/tables/${encodeURIComponent(schema)}/${encodeURIComponent(name)}`

/** Returns the path of the diagram of a table and its neighbours. */
export const diagramAddress = ({ schema, name }: { readonly schema: string; readonly name: string }) =>
  `/structure?${new URLSearchParams({ view: 'diagram', schema, near: name })}`

export const newTableAddress = '/structure/new'
