import { useId, useState } from 'react'
import { Link } from 'wouter'
import { useAction } from '../../api/queries.ts'
import { sqlLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select } from '../../ui/field.tsx'
import { countOf } from '../../ui/format.ts'
import { Form } from '../../ui/layout.tsx'
import { Failure } from '../../ui/states.tsx'
import { applyTemplate, type PolicyTemplate, policyTemplates } from './api.ts'

const objectPolicies = `select policyname, cmd, roles, qual, with_check
from pg_policies
where schemaname = 'basalt' and tablename = 'objects'
order by policyname;
`

/** Creates policies on the objects of a bucket from a template. */
export function PolicyForm({ bucket, onClose }: { readonly bucket: string; readonly onClose: () => void }) {
  const [template, setTemplate] = useState<PolicyTemplate>('user-own-files')
  const form = useId()
  const action = useAction(applyTemplate, {
    done: ({ policies }) => `${countOf(policies.length, 'policy', 'policies')} created.`,
    failure: 'view',
    onDone: onClose,
  })
  return (
    <Dialog
      title={`Policies of ${bucket}`}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} variant="primary" isPending={action.isPending}>
            Create policies
          </Button>
        </>
      }
    >
      <Form id={form} onSubmit={() => action.run({ bucket, template })}>
        <Select label="Template" value={template} choices={policyTemplates} onChange={setTemplate} />
        <p>
          Creates policies on <code>basalt.objects</code> for this bucket, and replaces those that the same
          template has created. All of them: <Link href={sqlLink(objectPolicies)}>policies of objects</Link>.
        </p>
        {action.error !== null && <Failure error={action.error} />}
      </Form>
    </Dialog>
  )
}
