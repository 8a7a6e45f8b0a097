import type { Relation } from '../api.ts'
import { addedColumnFields, adoptType, emptyColumn, planColumn } from './column.ts'
import { describeForm } from './form.tsx'

export const addColumn = ({ schema, name }: Relation) =>
  describeForm({
    title: `Add a column to ${name}`,
    start: emptyColumn,
    fields: addedColumnFields,
    correct: adoptType,
    review: (column) =>
      column.name !== '' &&
      column.type !== '' && {
        title: `Add ${column.name} to ${name}`,
        change: { kind: 'add_column', schema, name, column: planColumn(column) },
      },
  })
