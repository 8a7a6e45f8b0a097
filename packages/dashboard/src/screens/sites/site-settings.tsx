import { useState } from 'react'
import { Link } from 'wouter'
import { useAction, useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Checkbox, Select, TextField } from '../../ui/field.tsx'
import { Form, Section } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import { changeSite, listDomains, type Site } from './api.ts'

export function SiteSettings({ site }: { readonly site: Site }) {
  const [name, setName] = useState(site.name)
  const [spaMode, setSpaMode] = useState(site.spaMode)
  const [domain, setDomain] = useState(site.customDomainId ?? '')
  const domains = useApi(['domains'], listDomains)
  const action = useAction(changeSite, {
    invalidates: [['sites'], ['domains']],
    done: 'Saved.',
    failure: 'view',
  })
  const free = (domains.data ?? []).filter(({ siteId }) => siteId === undefined || siteId === site.id)
  return (
    <Section title="Settings">
      <Form
        onSubmit={() =>
          action.run({
            id: site.id,
            name,
            spaMode,
            ...(domain === '' ? { clearCustomDomain: true } : { customDomainId: domain }),
          })
        }
      >
        <TextField label="Name" value={name} onChange={setName} />
        <Checkbox
          label="Single-page application"
          hint="Requests for missing paths return index.html."
          checked={spaMode}
          onChange={setSpaMode}
        />
        <Select
          label="Domain"
          value={domain}
          choices={[
            { value: '', label: 'No custom domain' },
            ...free.map(({ id, hostname, status }) => ({ value: id, label: `${hostname} (${status})` })),
          ]}
          hint={
            <>
              Register and verify domains in <Link href="/sites/domains">Domains</Link>.
            </>
          }
          onChange={setDomain}
        />
        {action.error !== null && <Failure error={action.error} />}
        <div>
          <Button type="submit" variant="primary" isPending={action.isPending}>
            Save
          </Button>
        </div>
      </Form>
    </Section>
  )
}
