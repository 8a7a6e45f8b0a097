/** Returns a one-time link. The code is in the fragment, which browsers keep out of requests and logs. */
export function signInLink(dashboardUrl: string, code: string): string {
  return `${dashboardUrl}/sign-in#code=${code}`
}
