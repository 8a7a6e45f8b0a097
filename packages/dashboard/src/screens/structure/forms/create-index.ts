import { checkbox, checkboxes, choice, choicesOf, code, namesOf, unlessBlank } from '../../../ui/fields.tsx'
import { splitList } from '../../../ui/split-list.ts'
import type { Relation } from '../api.ts'
import { describeForm } from './form.tsx'

const methods = ['btree', 'hash', 'gin', 'gist', 'spgist', 'brin']

export const createIndex = ({ schema, name, columns }: Relation) =>
  describeForm({
    title: `Create an index of ${name}`,
    start: {
      keys: '',
      method: 'btree',
      where: '',
      include: '',
      index: '',
      options: { isUnique: false, isConcurrent: true },
    },
    fields: () => ({
      keys: code('Columns', {
        hint: `Separated by commas, in index order, with expressions in parentheses. Columns: ${namesOf(columns)}`,
        placeholder: 'owner_id, created_at desc',
      }),
      method: choice('Method', choicesOf(methods)),
      where: code('Condition on rows', { placeholder: 'not done' }),
      include: code('Included columns', { hint: 'Stored in the index, but not searched.' }),
      index: code('Name', { placeholder: 'set by PostgreSQL' }),
      options: checkboxes({
        isUnique: checkbox('Unique'),
        isConcurrent: checkbox('Concurrently', {
          hint: 'Does not block writes. The build takes longer and needs its own migration.',
        }),
      }),
    }),
    review: ({ keys, method, where, include, index, options }) =>
      splitList(keys).length > 0 && {
        title: `Index ${keys} of ${name}`,
        change: {
          kind: 'create_index',
          schema,
          name,
          keys: splitList(keys),
          index: index || undefined,
          method: method === 'btree' ? undefined : method,
          where: unlessBlank(where),
          include: include.trim() === '' ? undefined : splitList(include),
          isUnique: options.isUnique || undefined,
          isConcurrent: options.isConcurrent || undefined,
        },
      },
  })
