import { code } from '../../../ui/fields.tsx'
import type { Change } from '../api.ts'
import { describeForm } from './form.tsx'

/** Describes the form that adds `to` to a change. */
export const rename = (name: string, change: Change, onRenamed?: (to: string) => void) =>
  describeForm({
    title: `Rename ${name}`,
    size: 'small',
    start: { to: name },
    fields: () => ({
      to: code('New name', {
        hint: 'Requests, clients and functions that use the current name will fail.',
      }),
    }),
    review: ({ to }) =>
      to !== '' &&
      to !== name && { title: `Rename ${name}`, change: { ...change, to }, onApplied: () => onRenamed?.(to) },
  })
