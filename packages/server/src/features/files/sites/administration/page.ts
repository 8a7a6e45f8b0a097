import { checkedByHandler, component } from '../../../../http/schemas.ts'
import { type Static, type TSchema, Type } from '../../../../lib/type.ts'

export const pageQuery = Type.Object({
  page: Type.Optional(checkedByHandler({ minimum: 1, maximum: 1_000_000 }, Type.Integer())),
  perPage: Type.Optional(
    checkedByHandler({ minimum: 1, maximum: 100 }, Type.Integer({ description: 'Default: 20.' })),
  ),
})

/** Returns the schema of a named page whose items are a field of their own name. */
export function pageOf<Items extends Record<string, TSchema>>(name: string, items: Items) {
  const totals = { totalCount: Type.Integer(), page: Type.Integer(), perPage: Type.Integer() }
  return component(name, Type.Object({ ...items, ...totals }))
}

/** Reads the page parameters. A size out of bounds becomes the default. */
export function readPage({ page = 1, perPage = 20 }: Static<typeof pageQuery>) {
  const size = perPage < 1 || perPage > 100 ? 20 : perPage
  const number = Math.min(Math.max(page, 1), 1_000_000)
  return { page: number, perPage: size, offset: (number - 1) * size }
}
