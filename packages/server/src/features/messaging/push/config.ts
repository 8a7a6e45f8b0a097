import { choice, flag, integer, plain, secret, text, webAddress } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** `push`: messages to devices. Credentials can also be given by administrators while the server runs. */
export const pushConfig = Type.Object({
  enabled: flag(false, 'Whether messages are sent to devices. They are sent by jobs.'),
  retention_days: integer(30, 'Days that messages and their deliveries are kept.', 1, 3650),
  policy: Type.Object({
    sends_per_hour: integer(
      1000,
      'Messages that programs of one user may send per hour, by all keys and tokens together; of programs that act for no user, by app.',
      1,
      10_000_000,
    ),
  }),
  fcm: Type.Object({
    credentials_file: plain('File with the service account of Firebase Cloud Messaging (JSON).'),
    base_url: webAddress("Address of Firebase Cloud Messaging, when it is not Google's own (a stand-in)."),
  }),
  apns: Type.Object({
    key_file: plain('File with the signing key of the Apple Push Notification service (.p8).'),
    team_id: plain('Team of the signing key.'),
    key_id: plain('Id of the signing key.'),
    bundle_id: plain('Bundle id of the app, which is the topic of its messages.'),
    environment: choice('production', ['production', 'sandbox'], 'Which of its environments is used.'),
    base_url: webAddress("Address of the service, when it is not Apple's own (a stand-in)."),
  }),
  webpush: Type.Object({
    subject: text('', 'Contact that push services of browsers may write to (RFC 8292).', {
      pattern: '^((mailto:|https://)[^\\s]+)?$',
      expects: 'a mailto: or https: URL',
    }),
    private_key: secret('Private VAPID key, 32 bytes as base64url; one is made when it is empty.'),
  }),
})

export type PushConfig = Static<typeof pushConfig>
