import { createContext, useContext } from 'react'
import type { ApplyResult, Change } from '../api.ts'

/** Source of a plan: a change, or its SQL. */
export type PlanSource = { readonly change: Change } | { readonly sql: string }

/** Change to review before it is applied. */
export type ReviewRequest = PlanSource & {
  /** Short description of the change, from which the migration gets its name. */
  readonly title: string
  /** Text that the user has to type first. For loss of data. */
  readonly confirmName?: string | undefined
  readonly onApplied?: ((applied: ApplyResult) => void) | undefined
}

export const ReviewContext = createContext<(request: ReviewRequest) => void>(() => undefined)

/** Returns the function that shows the SQL and the warnings of a change. The user then applies the change. */
export const useReview = () => useContext(ReviewContext)
