import { choice, flag, integer, plain, secret, text, webAddress } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Keys of `push`, for messages to devices. Administrators can also set credentials at run time. */
export const pushConfig = Type.Object({
  enabled: flag(false, 'True if messages are sent to devices. Jobs send them.'),
  retention_days: integer(30, 'Days for which messages and their deliveries are kept.', 1, 3650),
  policy: Type.Object({
    sends_per_hour: integer(
      1000,
      'Messages that programs of one user may send per hour, over all keys and tokens. Programs that act for no user are counted by app.',
      1,
      10_000_000,
    ),
  }),
  fcm: Type.Object({
    credentials_file: plain('File with the service account of Firebase Cloud Messaging (JSON).'),
    base_url: webAddress("Address of Firebase Cloud Messaging, if it is not Google's own (a stand-in)."),
  }),
  apns: Type.Object({
    key_file: plain('File with the signing key of the Apple Push Notification service (.p8).'),
    team_id: plain('Team of the signing key.'),
    key_id: plain('Id of the signing key.'),
    bundle_id: plain('Bundle id of the app, which is the topic of its messages.'),
    environment: choice('production', ['production', 'sandbox'], 'Environment of the service.'),
    base_url: webAddress("Address of the service, if it is not Apple's own (a stand-in)."),
  }),
  webpush: Type.Object({
    subject: text('', 'Contact for browser push services (RFC 8292).', {
      pattern: '^((mailto:|https://)[^\\s]+)?$',
      expects: 'a mailto: or https: URL',
    }),
    private_key: secret('Private VAPID key, 32 bytes as base64url. If empty, one is generated.'),
  }),
})

export type PushConfig = Static<typeof pushConfig>
