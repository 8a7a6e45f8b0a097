import { Link } from 'wouter'
import { screens } from '../../screens.ts'
import { PageHeader } from '../../ui/layout.tsx'

export function HomeScreen() {
  return (
    <>
      <PageHeader title="Home" />
      <ul>
        {screens.map((screen) => (
          <li key={screen.path}>
            <Link href={screen.path}>{screen.title}</Link>
          </li>
        ))}
      </ul>
    </>
  )
}
