/** Addresses of the screen, below `/admin`. */
export const tableAddress = ({ schema, name }: { readonly schema: string; readonly name: string }) =>
  `/structure/tables/${encodeURIComponent(schema)}/${encodeURIComponent(name)}`

export const newTableAddress = '/structure/new'
