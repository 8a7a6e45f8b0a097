import { useState } from 'react'
import { useAction } from '../api/queries.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/layout.tsx'
import { signIn } from './session.ts'
import styles from './sign-in.module.css'

export function SignInPage() {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  const [usesCode, setUsesCode] = useState(code !== null)
  return (
    <main className={styles.page}>
      <h1>Basalt</h1>
      {code !== null && usesCode ? (
        <CodeForm code={code} onDismiss={() => setUsesCode(false)} />
      ) : (
        <PasswordForm />
      )}
    </main>
  )
}

/** Shows the form of a one-time link. Mail programs that open links must not use it up, so signing in takes a press. */
function CodeForm({ code, onDismiss }: { readonly code: string; readonly onDismiss: () => void }) {
  const action = useAction(() => signIn({ code }), { failure: 'view', onDone: forgetCode })
  return (
    <Form onSubmit={() => action.run()}>
      <p>This link signs you in once.</p>
      {action.error !== null && <p role="alert">{action.error.message}</p>}
      <Button type="submit" variant="primary" isPending={action.isPending}>
        Sign in with this link
      </Button>
      <Button
        variant="plain"
        onClick={() => {
          forgetCode()
          onDismiss()
        }}
      >
        Use the password instead
      </Button>
    </Form>
  )
}

function forgetCode(): void {
  history.replaceState(null, '', location.pathname + location.search)
}

export function PasswordForm() {
  const [password, setPassword] = useState('')
  const action = useAction(() => signIn({ password }), { failure: 'view' })
  return (
    <Form onSubmit={() => action.run()}>
      {/* Password managers store the password under a user name. */}
      <input type="text" autoComplete="username" value="admin" readOnly hidden />
      <TextField
        label="Administrator password"
        type="password"
        autoComplete="current-password"
        autoFocus
        required
        value={password}
        onChange={setPassword}
        error={action.error?.message}
      />
      <Button type="submit" variant="primary" isPending={action.isPending} disabled={password === ''}>
        Sign in
      </Button>
    </Form>
  )
}
