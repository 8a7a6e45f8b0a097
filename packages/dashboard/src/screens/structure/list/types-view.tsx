import { useApi } from '../../../api/queries.ts'
import { Button } from '../../../ui/button.tsx'
import { DataTable, RowActions } from '../../../ui/data-table.tsx'
import { Section } from '../../../ui/layout.tsx'
import { Loaded } from '../../../ui/states.tsx'
import { readObjects } from '../api.ts'
import { changeEnum, createEnum } from '../forms/enum.ts'
import { useForm } from '../forms/form.tsx'
import { useReview } from '../review/review-context.ts'

export function TypesView() {
  const objects = useApi(['structure', 'objects'], readObjects)
  const review = useReview()
  const form = useForm()
  return (
    <Loaded query={objects}>
      {({ enums, domains, compositeTypes, sequences, extensions }) => (
        <>
          <Section
            title="Enums"
            actions={
              <Button needs="change" onClick={() => form.open(createEnum)}>
                Create an enum
              </Button>
            }
          >
            <DataTable
              caption="Enums"
              rows={enums}
              rowKey={nameOf}
              empty="No enums yet. A column with an enum accepts its values only, and a menu offers them."
              example={["create type mood as enum ('calm', 'happy', 'loud');"]}
              columns={[
                ['Name', nameOf],
                ['Values', ({ values }) => values.join(', ')],
                ['Used by', ({ usedBy }) => usedBy.join(', '), 'minor'],
                [
                  'Actions',
                  (type) => (
                    <RowActions
                      of={nameOf(type)}
                      actions={[
                        ['Change', () => form.open(changeEnum(type))],
                        [
                          'Drop',
                          () =>
                            review({
                              title: `Drop ${type.name}`,
                              confirmName: type.name,
                              change: { kind: 'drop_type', schema: type.schema, name: type.name },
                            }),
                        ],
                      ]}
                    />
                  ),
                  'actions',
                ],
              ]}
            />
          </Section>
          <Section title="Domains">
            <DataTable
              caption="Domains"
              rows={domains}
              rowKey={nameOf}
              empty="No domains yet. A domain is a type with a check, for columns of several tables."
              example={['create domain percent as int check (value between 0 and 100);']}
              columns={[
                ['Name', nameOf],
                ['Type', ({ type }) => <code>{type}</code>],
                ['Checks', ({ checks }) => <code>{checks.join(' ')}</code>],
              ]}
            />
          </Section>
          <Section title="Composite types">
            <DataTable
              caption="Composite types"
              rows={compositeTypes}
              rowKey={nameOf}
              empty="No composite types yet. A composite type holds several values in one column."
              example={['create type address as (street text, city text);']}
              columns={[
                ['Name', nameOf],
                [
                  'Attributes',
                  ({ attributes }) => (
                    <code>{attributes.map(({ name, type }) => `${name} ${type}`).join(', ')}</code>
                  ),
                ],
              ]}
            />
          </Section>
          <Section title="Sequences">
            <DataTable
              caption="Sequences"
              rows={sequences}
              rowKey={nameOf}
              empty="No sequences yet. A sequence counts up, and numbered columns bring their own."
              example={['create sequence invoice_number;']}
              columns={[
                ['Name', nameOf],
                ['Last value', ({ lastValue }) => lastValue ?? '', 'end'],
                ['Owned by', ({ ownedBy }) => ownedBy ?? ''],
              ]}
            />
          </Section>
          <Section title="Extensions">
            <DataTable
              caption="Extensions"
              rows={extensions}
              rowKey={({ name }) => name}
              empty="No extensions yet. An extension adds types and functions, such as searches with typos."
              example={['create extension pg_trgm;']}
              columns={[
                ['Name', ({ name }) => name],
                ['Version', ({ version }) => version],
                ['Schema', ({ schema }) => schema],
              ]}
            />
          </Section>
          {form.dialog}
        </>
      )}
    </Loaded>
  )
}

function nameOf({ schema, name }: { readonly schema: string; readonly name: string }): string {
  return schema === 'public' ? name : `${schema}.${name}`
}
