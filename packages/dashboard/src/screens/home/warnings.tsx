import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { advisorsLink } from '../../links.ts'
import { countOf, formatNumber } from '../../ui/format.ts'
import { Badge, Section } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { type Advice, listAdvice } from '../advisors/api.ts'
import { tones } from '../advisors/tones.ts'
import styles from './home.module.css'

const mostRules = 6
const mostObjects = 5

/** Lists the advice that is not dismissed: errors first, one line for each kind. */
export function Warnings() {
  const advice = useApi(['advisors'], listAdvice)
  return (
    <Section title="Needs attention" actions={<Link href="/advisors">All advisors</Link>}>
      <Loaded query={advice}>
        {({ items, counts }) => {
          // The API returns errors first.
          const open = items.filter(({ severity, dismissal }) => dismissal === null && severity !== 'info')
          const groups = [...Map.groupBy(open, ({ rule }) => rule).values()]
          if (groups.length === 0)
            return <p className={styles.fine}>The advisors have found no errors or warnings.</p>
          return (
            <>
              <p>
                <Link href={advisorsLink({ severity: 'error' })}>{countOf(counts.error, 'error')}</Link>,{' '}
                <Link href={advisorsLink({ severity: 'warning' })}>{countOf(counts.warning, 'warning')}</Link>
                , <Link href={advisorsLink({ severity: 'info' })}>{formatNumber(counts.info)} info</Link>
              </p>
              <ul className={styles.list}>
                {groups.slice(0, mostRules).map((group) => (
                  <Rule key={group[0]?.rule} group={group} />
                ))}
              </ul>
              {groups.length > mostRules && (
                <p>
                  and {countOf(groups.length - mostRules, 'other kind of advice', 'other kinds of advice')}.
                </p>
              )}
            </>
          )
        }}
      </Loaded>
    </Section>
  )
}

function Rule({ group }: { readonly group: readonly Advice[] }) {
  const [first] = group
  if (first === undefined) return null
  const objects = group.slice(0, mostObjects).map(({ object }) => object)
  return (
    <li>
      <Badge tone={tones[first.severity]}>{first.severity}</Badge>
      <span>
        <Link href={advisorsLink({ query: first.rule })}>{first.title}</Link>: {objects.join(', ')}
        {group.length > mostObjects && <> and {formatNumber(group.length - mostObjects)} more</>}
      </span>
    </li>
  )
}
