/**
 * Files of `src` whose tests of several nodes also run on the workers of one server, as the project `workers`. Their
 * nodes have one configuration and replace no part of the process.
 */
export const filesOnWorkers = [
  'features/data/collections/tests/{import-progress,public-reads}',
  'features/data/graphql/tests/subscriptions',
  'features/data/matviews/tests/matviews',
  'features/data/procedures/tests/procedures',
  'features/data/search/tests/settings',
  'features/events/realtime/tests/{channels,lost-parents,presence,public-streams}',
  'features/events/schedules/tests/schedules',
  'features/events/webhooks/tests/delivery',
  'features/files/cdn/tests/cdn',
  'features/files/sites/tests/sites',
  'features/files/storage/tests/{images,resumable,revocation,storage,writes}',
  'features/identity/accounts/tests/{impersonation,limits,races,session-use,user-administration}',
  'features/identity/api-keys/tests/revocation',
  'features/identity/apps/tests/rate-limit',
  'features/identity/mfa/tests/{backup-codes-and-factors,sent-codes,totp}',
  'features/identity/oauth-server/tests/{data,page-providers}',
  'features/identity/social-login/tests/openid',
  'features/messaging/mail/tests/user-mail',
  'features/messaging/sms/tests/callbacks',
  'features/messaging/support/tests/support',
  'features/operations/admin/tests/session',
  'features/operations/audit/tests/audit',
  'features/operations/billing/tests/billing',
  'features/operations/logs/tests/logs',
  'project/structure/tests/structure',
]
