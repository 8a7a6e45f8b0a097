import { useState } from 'react'
import { Link } from 'wouter'
import { useAction } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Checkbox, Select } from '../../ui/field.tsx'
import { Form, Section } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import { replaceSettings, type SearchDescription, type SearchSettings, type Weight, weights } from './api.ts'
import { RankingFields } from './ranking-fields.tsx'
import styles from './search.module.css'

interface SettingsTabProps {
  readonly description: SearchDescription
  readonly stored: SearchSettings
}

/** Edits the weights of the columns and the ranking of equally ranked records. */
export function SettingsTab({ description, stored }: SettingsTabProps) {
  const { collection: table, columns, textSearchConfig } = description
  const searchable = columns.filter(({ isSearchable }) => isSearchable)
  const [weightOf, setWeightOf] = useState<Readonly<Record<string, Weight | ''>>>(() =>
    Object.fromEntries(stored.attributes.map(({ column, weight }) => [column, weight])),
  )
  const [ignoreAccents, setIgnoreAccents] = useState(stored.ignoreAccents)
  const [customRanking, setCustomRanking] = useState(stored.customRanking)
  const save = useAction(replaceSettings, {
    invalidates: [['search']],
    failure: 'view',
    done: 'Settings saved. They apply on every node within a second.',
  })
  // A column that was dropped in the meantime is in neither list.
  const settings: SearchSettings = {
    attributes: searchable.flatMap(({ name }) => {
      const weight = weightOf[name] ?? ''
      return weight === '' ? [] : [{ column: name, weight }]
    }),
    customRanking: customRanking.filter(({ column }) =>
      columns.some(({ name, isRankable }) => name === column && isRankable),
    ),
    ignoreAccents,
  }
  const isPlain = settings.attributes.length === 0
  return (
    <Form onSubmit={() => save.run({ table, settings })}>
      <p>
        Words are stemmed with <code>{textSearchConfig}</code>, set by <code>api.text_search_config</code> in
        the <Link href="/settings">configuration</Link>, for all tables.
      </p>
      <Section title="Accents">
        <Checkbox
          label="Ignore accents"
          hint="A search for apfel also finds Äpfel."
          checked={ignoreAccents}
          onChange={setIgnoreAccents}
        />
      </Section>
      <Section title="Columns">
        <p>
          {isPlain
            ? 'All text columns have the same weight unless you set one.'
            : 'Columns without a weight have the lowest one.'}
        </p>
        <div className={styles.fields}>
          {searchable.map(({ name }) => (
            <Select<Weight | ''>
              key={name}
              label={name}
              value={weightOf[name] ?? ''}
              onChange={(weight) => setWeightOf({ ...weightOf, [name]: weight })}
              choices={[
                { value: '', label: 'No weight' },
                ...weights.map((weight) => ({ value: weight, label: weight })),
              ]}
            />
          ))}
        </div>
        {searchable.length === 0 && <p>The table has no text columns.</p>}
      </Section>
      <Section title="Ranking">
        <RankingFields
          columns={columns.filter(({ isRankable }) => isRankable).map(({ name }) => name)}
          ranking={settings.customRanking}
          onChange={setCustomRanking}
        />
      </Section>
      {save.error !== null && <Failure error={save.error} />}
      <div className={styles.buttons}>
        <Button type="submit" variant="primary" needs="change" isPending={save.isPending}>
          Save settings
        </Button>
        <AsCode
          request={{
            method: 'PUT',
            path: `/api/collections/${encodeURIComponent(table)}/search-settings`,
            body: settings,
          }}
        />
      </div>
    </Form>
  )
}
