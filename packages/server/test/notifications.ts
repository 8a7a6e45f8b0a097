import { pino } from 'pino'
import { Notifications, type NotificationsOptions } from '../src/database/notifications/notifications.ts'

/** Creates a loop next to those of the test's apps. It polls and logs nothing. */
export function createTestNotifications(
  database: NotificationsOptions['database'],
): Notifications & AsyncDisposable {
  const notifications = new Notifications({
    database,
    openListener: undefined,
    log: pino({ level: 'silent' }),
  })
  return Object.assign(notifications, { [Symbol.asyncDispose]: () => notifications.stop() })
}
