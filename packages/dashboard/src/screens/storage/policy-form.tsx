import { Link } from 'wouter'
import { sqlLink } from '../../links.ts'
import { choice, valueIn } from '../../ui/fields.tsx'
import { ActionForm } from '../../ui/form-dialog.tsx'
import { countOf } from '../../ui/format.ts'
import { applyTemplate, policyTemplates } from './api.ts'

const objectPolicies = `select policyname, cmd, roles, qual, with_check
from pg_policies
where schemaname = 'basalt' and tablename = 'objects'
order by policyname;
`

/** Creates policies on the objects of a bucket from a template. */
export function PolicyForm({ bucket, onClose }: { readonly bucket: string; readonly onClose: () => void }) {
  return (
    <ActionForm
      title={`Policies of ${bucket}`}
      action="Create policies"
      start={{ template: valueIn(policyTemplates, 'user-own-files') }}
      fields={() => ({ template: choice('Template', policyTemplates) })}
      send={({ template }) => applyTemplate({ bucket, template })}
      done={({ policies }) => `${countOf(policies.length, 'policy', 'policies')} created.`}
      onClose={onClose}
    >
      {() => (
        <p>
          Creates policies on <code>basalt.objects</code> for this bucket, and replaces those that the same
          template has created. All of them: <Link href={sqlLink(objectPolicies)}>policies of objects</Link>.
        </p>
      )}
    </ActionForm>
  )
}
