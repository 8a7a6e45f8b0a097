import { type ComponentType, lazy, Suspense } from 'react'
import { loadPart } from '../api/load-part.ts'

/** Returns a component that shows nothing until its code has been loaded. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const Part = lazy(async () => ({ default: await loadPart(load) }))
  return (props: Props) => (
    <Suspense fallback={null}>
      <Part {...props} />
    </Suspense>
  )
}
