import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { checkbox, choice, text } from '../../ui/fields.tsx'
import { InlineForm } from '../../ui/form-dialog.tsx'
import { Section } from '../../ui/layout.tsx'
import { changeSite, listDomains, type Site } from './api.ts'

export const spaField = checkbox('Single-page application', {
  hint: 'Requests for missing paths return index.html.',
})

export function SiteSettings({ site }: { readonly site: Site }) {
  const domains = useApi(['domains'], listDomains)
  const free = (domains.data ?? []).filter(({ siteId }) => siteId === undefined || siteId === site.id)
  const choices = [
    { value: '', label: 'No custom domain' },
    ...free.map(({ id, hostname, status }) => ({ value: id, label: `${hostname} (${status})` })),
  ]
  const hint = (
    <>
      Register and verify domains in <Link href="/sites/domains">Domains</Link>.
    </>
  )
  return (
    <Section title="Settings">
      <InlineForm
        action="Save"
        start={{ name: site.name, spaMode: site.spaMode, domain: site.customDomainId ?? '' }}
        fields={() => ({
          name: text('Name'),
          spaMode: spaField,
          domain: choice('Domain', choices, { hint }),
        })}
        send={({ domain, ...settings }) =>
          changeSite({
            ...{ id: site.id, ...settings },
            ...(domain === '' ? { clearCustomDomain: true } : { customDomainId: domain }),
          })
        }
        invalidates={[['sites'], ['domains']]}
        done="Saved."
      />
    </Section>
  )
}
