import { Link, useSearchParams } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { rowsLink } from '../../links.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { PageHeader } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { describeSearch, readSettings, readSynonyms, type SearchDescription } from './api.ts'
import { IndexState } from './index-state.tsx'
import { IndexTab } from './index-tab.tsx'
import styles from './search.module.css'
import { SettingsTab } from './settings-tab.tsx'
import { SynonymsTab } from './synonyms-tab.tsx'
import { TryTab } from './try-tab.tsx'

/** Refetch interval during a build, in milliseconds. */
const refetchIntervalMs = 2_000

export function CollectionView({ table }: { readonly table: string }) {
  const described = useApi(['search', 'described', table], (signal) => describeSearch(table, signal), {
    refetchIntervalMs,
  })
  usePageTitle(table)
  return <Loaded query={described}>{(description) => <Parts description={description} />}</Loaded>
}

function Parts({ description }: { readonly description: SearchDescription }) {
  const { collection: table } = description
  const [parameters, setParameters] = useSearchParams()
  const settings = useApi(['search', 'settings', table], (signal) => readSettings(table, signal))
  const synonyms = useApi(['search', 'synonyms', table], (signal) => readSynonyms(table, signal))
  return (
    <>
      <PageHeader title={`Search in ${table}`}>
        Index: <IndexState status={description} />
      </PageHeader>
      <p className={styles.links}>
        <Link href="/search">All tables</Link>
        <Link href={rowsLink(table)}>Rows</Link>
      </p>
      <Tabs
        label="Table search"
        value={parameters.get('tab') ?? 'try'}
        onChange={(tab) => setParameters(tab === 'try' ? {} : { tab }, { replace: true })}
        tabs={[
          { value: 'try', label: 'Try a search', content: <TryTab description={description} /> },
          {
            value: 'settings',
            label: 'Settings',
            content: (
              <Loaded query={settings}>
                {(stored) => <SettingsTab description={description} stored={stored} />}
              </Loaded>
            ),
          },
          {
            value: 'synonyms',
            label: 'Synonyms',
            content: (
              <Loaded query={synonyms}>{(groups) => <SynonymsTab table={table} groups={groups} />}</Loaded>
            ),
          },
          { value: 'index', label: 'Index', content: <IndexTab description={description} /> },
        ]}
      />
    </>
  )
}
