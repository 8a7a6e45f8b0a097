import type { Caller } from '../../data/collections/index.ts'

/** Returns the caller as functions get it. */
export function describeCaller({ scope }: Caller): {
  readonly user: object | undefined
  readonly claims: object
} {
  return {
    user:
      // A client that acts for itself has no user.
      scope.kind === 'caller' && scope.userId !== ''
        ? {
            id: scope.userId,
            email: scope.email,
            isEmailVerified: scope.isEmailVerified,
            isAnonymous: scope.isAnonymous,
          }
        : undefined,
    claims: {
      kind: { caller: 'user', anonymous: 'anonymous', unrestricted: 'administrator' }[scope.kind],
      ...(scope.kind === 'caller'
        ? {
            aal: scope.aal,
            sessionId: scope.sessionId,
            ...(scope.customClaims === undefined ? {} : { custom: JSON.parse(scope.customClaims) }),
          }
        : {}),
    },
  }
}
