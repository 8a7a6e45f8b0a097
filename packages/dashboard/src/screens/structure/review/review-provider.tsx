import { type ReactNode, useState } from 'react'
import { ReviewContext, type ReviewRequest } from './review-context.ts'
import { ReviewDialog } from './review-dialog.tsx'

/** Provides one review at a time, above the form that opened it. */
export function ReviewProvider({ children }: { readonly children: ReactNode }) {
  const [request, setRequest] = useState<ReviewRequest>()
  return (
    <ReviewContext value={setRequest}>
      {children}
      {request !== undefined && <ReviewDialog request={request} onClose={() => setRequest(undefined)} />}
    </ReviewContext>
  )
}
