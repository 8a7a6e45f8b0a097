import { useSearchParams } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { withParameters } from '../../shell/search-parameters.ts'
import { Button } from '../../ui/button.tsx'
import { Select, Switch } from '../../ui/field.tsx'
import { countOf } from '../../ui/format.ts'
import { Badge, FilterField, PageHeader, Section, Toolbar } from '../../ui/layout.tsx'
import { EmptyState, Loaded } from '../../ui/states.tsx'
import { AdviceItem } from './advice-item.tsx'
import styles from './advisors.module.css'
import { type Advice, listAdvice, severities } from './api.ts'
import { tones } from './tones.ts'

export function AdvisorsScreen() {
  const [search, setSearch] = useSearchParams()
  const query = useApi(['advisors'], listAdvice)
  const text = search.get('query') ?? ''
  const severity = search.get('severity') ?? ''
  const showsDismissed = search.get('dismissed') === 'true'
  const set = (name: string, value: string) =>
    setSearch((current) => withParameters(current, { [name]: value }), { replace: true })
  const isShown = (advice: Advice) =>
    (advice.dismissal !== null) === showsDismissed &&
    (severity === '' || advice.severity === severity) &&
    [advice.object, advice.title, advice.rule].some((each) => each.toLowerCase().includes(text.toLowerCase()))
  return (
    <>
      <PageHeader
        title="Advisors"
        asCode={{ request: { method: 'GET', path: '/api/admin/advisors' }, command: 'basalt advisors' }}
        actions={
          <Button onClick={() => void query.refetch()} isPending={query.isFetching}>
            Refresh
          </Button>
        }
      >
        Problems with the security, speed and health of the database, with statements that fix them.
      </PageHeader>
      <Toolbar label="Advisors">
        <FilterField label="Search" value={text} onChange={(value) => set('query', value)} />
        <Select
          label="Severity"
          hidesLabel
          value={severity}
          onChange={(value) => set('severity', value)}
          choices={[
            { value: '', label: 'All severities' },
            ...severities.map((value) => ({ value, label: value })),
          ]}
        />
        <Switch
          label="Dismissed"
          checked={showsDismissed}
          onChange={(isOn) => set('dismissed', isOn ? 'true' : '')}
        />
        {query.data !== undefined && (
          <span role="status">
            {countOf(query.data.counts.error, 'error')}, {countOf(query.data.counts.warning, 'warning')},{' '}
            {query.data.counts.info} info, {query.data.counts.dismissed} dismissed
          </span>
        )}
      </Toolbar>
      <Loaded query={query}>
        {({ items }) => {
          const groups = [...Map.groupBy(items.filter(isShown), ({ rule }) => rule).values()]
          if (groups.length === 0)
            return (
              <EmptyState icon="check">No problems found. The advisors check again every time.</EmptyState>
            )
          return groups.map((group) => <Group key={group[0]?.rule} group={group} />)
        }}
      </Loaded>
    </>
  )
}

/** Renders the advice of one kind. */
function Group({ group }: { readonly group: readonly Advice[] }) {
  const [first] = group
  if (first === undefined) return null
  return (
    <Section
      title={
        <>
          {first.title} <Badge tone={tones[first.severity]}>{first.severity}</Badge>
        </>
      }
      actions={<a href={first.docs}>Documentation</a>}
    >
      <p>{first.explanation}</p>
      <ul className={styles.list}>
        {group.map((advice) => (
          <AdviceItem key={advice.id} advice={advice} />
        ))}
      </ul>
    </Section>
  )
}
