export interface PageInput {
  readonly page?: number | undefined
  readonly perPage?: number | undefined
}

/** A page size out of bounds is the one without a wish. */
export function readPageB({ page = 1, perPage = 20 }: PageInput) {
  const size = perPage < 1 || perPage > 100 ? 20 : perPage
  const number = Math.min(Math.max(page, 1), 1_000_000)
  return { page: number, perPage: size, offset: (number - 1) * size }
}
