/** Announced when which deploy of which site is live may have changed. */
export const siteTopic = 'sites'
