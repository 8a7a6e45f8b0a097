import { companySignInErrors } from './errors.ts'

/**
 * Returns the page of the dashboard to which a sign-in returns. It is checked before the redirect to the provider, and again at the callback.
 *
 * @throws AppError invalid_return_to
 */
export function findReturnUrl(dashboardUrl: string, path: string | undefined): URL {
  const dashboard = new URL(dashboardUrl)
  if (path === undefined || path === '') return dashboard
  const target = path.startsWith('/') ? URL.parse(path, dashboard.origin) : null
  const isOwn =
    target?.origin === dashboard.origin && `${target.pathname}/`.startsWith(`${dashboard.pathname}/`)
  if (target === null || !isOwn) throw companySignInErrors.invalidReturnTo()
  return target
}
