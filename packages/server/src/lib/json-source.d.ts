// JSON.parse source text access (TC39, stage 4), which Node 24 has and TypeScript's libraries do not list yet.
interface JSON {
  /** Returns a primitive that is printed exactly as written: `JSON.rawJSON('1.10')`. */
  rawJSON(text: string): { readonly rawJSON: string }
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown
}
