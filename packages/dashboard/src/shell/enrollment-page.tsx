import { useAction } from '../api/queries.ts'
import { Button } from '../ui/button.tsx'
import { OwnFactors } from './own-factors.tsx'
import { signOut } from './session.ts'
import styles from './sign-in.module.css'

/** Shows the enrolment of a second factor to an administrator without one, where the server requires one. */
export function EnrollmentPage() {
  const end = useAction(signOut)
  return (
    <main className={styles.page}>
      <h1>Second factor</h1>
      <p>This server requires a second factor of its administrators. Enrol one to continue.</p>
      <OwnFactors />
      <Button variant="plain" onClick={() => end.run()}>
        Sign out
      </Button>
    </main>
  )
}
