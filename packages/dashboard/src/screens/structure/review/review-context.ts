import { createContext, useContext } from 'react'
import type { Applied, Change } from '../api.ts'

/** Source of a plan: a change, or its SQL. */
export type PlanSource = { readonly change: Change } | { readonly sql: string }

/** Change to review before it is applied. */
export type ReviewRequest = PlanSource & {
  /** What it does, in a few words; the name of the migration is made of it. */
  readonly title: string
  /** To be typed first, for what loses data. */
  readonly confirmName?: string | undefined
  readonly onApplied?: ((applied: Applied) => void) | undefined
}

export const ReviewContext = createContext<(request: ReviewRequest) => void>(() => undefined)

/** Shows the SQL and the warnings of a change, and applies it when a person says so. */
export const useReview = () => useContext(ReviewContext)
