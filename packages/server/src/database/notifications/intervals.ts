/** Poll interval of all versions while notifications arrive. Changes by plain SQL notify no node. */
export const listeningMs = 450
/** Poll interval without notifications. */
export const pollingMs = 125
/** Pause between two polls of an announced topic. Changes in the pause share the next poll. */
export const pollAgainMs = 10
