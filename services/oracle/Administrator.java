import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.PreferredLeaderNotAvailableException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;

/** What tests do to a cluster. Topic changes return when metadata shows them, so that the next step does not meet the old state. */
final class Administrator {
    interface Action {
        JsonNode run(Admin admin) throws Exception;
    }

    /** One client for each cluster, for as long as the process lives: making one costs more than most of what is done with it. */
    private static final Map<Map<String, Object>, Admin> CLIENTS = new HashMap<>();

    static JsonNode createTopic(JsonNode request) throws Exception {
        Map<String, String> configs = strings(request.path("configs"));
        Map<Integer, List<Integer>> replicas = replicas(request);
        int partitions = replicas.isEmpty() ? request.path("partitions").asInt(1) : replicas.size();
        NewTopic topic = replicas.isEmpty()
            ? new NewTopic(topic(request), Optional.of(partitions), Optional.of((short) request.path("replication").asInt(1)))
            : new NewTopic(topic(request), replicas);
        return with(request, admin -> {
            admin.createTopics(List.of(topic.configs(configs))).all().get();
            return awaitLeaders(request, admin, partitions);
        });
    }

    static JsonNode deleteTopic(JsonNode request) throws Exception {
        return with(request, admin -> {
            admin.deleteTopics(List.of(topic(request))).all().get();
            return await(request, admin, description -> description == null);
        });
    }

    static JsonNode describeTopic(JsonNode request) throws Exception {
        return with(request, admin -> await(request, admin, description -> true));
    }

    static JsonNode createPartitions(JsonNode request) throws Exception {
        int count = request.required("partitions").asInt();
        return with(request, admin -> {
            admin.createPartitions(Map.of(topic(request), NewPartitions.increaseTo(count))).all().get();
            return awaitLeaders(request, admin, count);
        });
    }

    /** Deletes what stands before the given offset of each partition ({partition: offset}, -1 for everything); gives the new log starts. */
    static JsonNode deleteRecords(JsonNode request) throws Exception {
        Map<TopicPartition, RecordsToDelete> before = new HashMap<>();
        request.required("before").properties().forEach(entry -> before.put(
            new TopicPartition(topic(request), Integer.parseInt(entry.getKey())), RecordsToDelete.beforeOffset(entry.getValue().asLong())));
        return with(request, admin -> {
            ObjectNode starts = Oracle.JSON.createObjectNode();
            for (var deleted : admin.deleteRecords(before).lowWatermarks().entrySet()) {
                starts.put(Integer.toString(deleted.getKey().partition()), deleted.getValue().get().lowWatermark());
            }
            return starts;
        });
    }

    /** `resource`: a topic's name, or a broker's id with type BROKER. A config of null goes back to its default. A topic's are shown then. */
    static JsonNode alterConfigs(JsonNode request) throws Exception {
        ConfigResource.Type type = ConfigResource.Type.valueOf(request.path("type").asText("TOPIC"));
        List<AlterConfigOp> changes = new ArrayList<>();
        request.required("configs").properties().forEach(entry -> changes.add(new AlterConfigOp(
            new ConfigEntry(entry.getKey(), entry.getValue().isNull() ? null : entry.getValue().asText()),
            entry.getValue().isNull() ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET)));
        ConfigResource resource = new ConfigResource(type, request.required("resource").asText());
        Deadline deadline = new Deadline(request);
        return with(request, admin -> {
            admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
            while (type == ConfigResource.Type.TOPIC && !shows(admin.describeConfigs(List.of(resource)).all().get().get(resource), changes)) {
                deadline.check(() -> "the configs of " + resource.name() + " are not shown");
                Thread.sleep(10);
            }
            return Oracle.JSON.createObjectNode();
        });
    }

    private static boolean shows(Config config, Collection<AlterConfigOp> changes) {
        return changes.stream().allMatch(change -> {
            ConfigEntry entry = config.get(change.configEntry().name());
            boolean own = entry != null && entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG;
            return change.opType() == AlterConfigOp.OpType.DELETE ? !own : own && entry.value().equals(change.configEntry().value());
        });
    }

    /** A client id's quotas, such as producer_byte_rate; null takes one away. Returns when the brokers' metadata shows them. */
    static JsonNode alterQuotas(JsonNode request) throws Exception {
        ClientQuotaEntity client = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, request.required("client_id").asText()));
        Map<String, Double> wanted = new HashMap<>();
        List<ClientQuotaAlteration.Op> changes = new ArrayList<>();
        request.required("quotas").properties().forEach(entry -> {
            Double value = entry.getValue().isNull() ? null : entry.getValue().asDouble();
            changes.add(new ClientQuotaAlteration.Op(entry.getKey(), value));
            wanted.put(entry.getKey(), value);
        });
        ClientQuotaFilter filter = ClientQuotaFilter.containsOnly(List.of(
            ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.CLIENT_ID, request.required("client_id").asText())));
        Deadline deadline = new Deadline(request);
        return with(request, admin -> {
            admin.alterClientQuotas(List.of(new ClientQuotaAlteration(client, changes))).all().get();
            while (!shows(admin.describeClientQuotas(filter).entities().get().getOrDefault(client, Map.of()), wanted)) {
                deadline.check(() -> "the quotas of " + client + " are not shown");
                Thread.sleep(10);
            }
            return Oracle.JSON.createObjectNode();
        });
    }

    private static boolean shows(Map<String, Double> quotas, Map<String, Double> wanted) {
        return wanted.entrySet().stream().allMatch(entry -> java.util.Objects.equals(quotas.get(entry.getKey()), entry.getValue()));
    }

    /**
     * Partitions get the given replicas ({partition: [broker, ...]}), the first of them as preferred leader. Returns when they are assigned:
     * a broker that was killed may take long to be in sync again where nothing is written.
     */
    static JsonNode moveReplicas(JsonNode request) throws Exception {
        Map<TopicPartition, Optional<NewPartitionReassignment>> wanted = new HashMap<>();
        Map<Integer, List<Integer>> replicas = replicas(request);
        replicas.forEach((partition, brokers) ->
            wanted.put(new TopicPartition(topic(request), partition), Optional.of(new NewPartitionReassignment(brokers))));
        return with(request, admin -> {
            admin.alterPartitionReassignments(wanted).all().get();
            return await(request, admin, description -> description != null && description.partitions().stream()
                .filter(partition -> replicas.containsKey(partition.partition()))
                .allMatch(partition -> replicas.get(partition.partition()).equals(ids(partition.replicas()))));
        });
    }

    /**
     * `election`: PREFERRED or UNCLEAN. A partition that needs none is fine, and so is one whose preferred leader lacks records; returns when
     * all of them are led.
     */
    static JsonNode electLeaders(JsonNode request) throws Exception {
        Set<TopicPartition> partitions = new HashSet<>();
        request.required("partitions").forEach(number -> partitions.add(new TopicPartition(topic(request), number.asInt())));
        return with(request, admin -> {
            var results = admin.electLeaders(ElectionType.valueOf(request.required("election").asText()), partitions).partitions().get();
            for (Optional<Throwable> problem : results.values()) {
                if (problem.isPresent() && !(problem.get() instanceof ElectionNotNeededException)
                    && !(problem.get() instanceof PreferredLeaderNotAvailableException)) {
                    throw new IllegalStateException(problem.get());
                }
            }
            return awaitLeaders(request, admin, describe(admin, topic(request)).partitions().size());
        });
    }

    /** The broker that decides the transactions of a transactional id. */
    static JsonNode transactionCoordinator(JsonNode request) throws Exception {
        String id = request.required("transactional_id").asText();
        return with(request, admin ->
            Oracle.JSON.createObjectNode().put("broker", admin.describeTransactions(List.of(id)).description(id).get().coordinatorId()));
    }

    static JsonNode createAcls(JsonNode request) throws Exception {
        return with(request, admin -> {
            admin.createAcls(bindings(request)).all().get();
            return Oracle.JSON.createObjectNode();
        });
    }

    static JsonNode deleteAcls(JsonNode request) throws Exception {
        return with(request, admin -> {
            admin.deleteAcls(bindings(request).stream().map(AclBinding::toFilter).toList()).all().get();
            return Oracle.JSON.createObjectNode();
        });
    }

    private static List<AclBinding> bindings(JsonNode request) {
        List<AclBinding> bindings = new ArrayList<>();
        for (JsonNode acl : request.required("acls")) {
            PatternType pattern = PatternType.valueOf(acl.path("pattern").asText("LITERAL"));
            AclPermissionType permission = AclPermissionType.valueOf(acl.path("permission").asText("ALLOW"));
            AclOperation operation = AclOperation.valueOf(acl.required("operation").asText());
            bindings.add(new AclBinding(
                new ResourcePattern(ResourceType.valueOf(acl.required("type").asText()), acl.required("name").asText(), pattern),
                new AccessControlEntry(acl.required("principal").asText(), "*", operation, permission)));
        }
        return bindings;
    }

    /**
     * Metadata names a leader before that broker leads; only an answered ListOffsets shows that it does. A producer that comes in between
     * gets NOT_LEADER_OR_FOLLOWER, and Kafka's idempotent producer was seen to lose its sequence numbers over that for good. A broker may
     * not even know yet that the partition exists.
     */
    private static JsonNode awaitLeaders(JsonNode request, Admin admin, int partitions) throws Exception {
        JsonNode row = await(request, admin, description -> description != null && description.partitions().size() == partitions
            && description.partitions().stream().allMatch(partition -> partition.leader() != null && !partition.leader().isEmpty()));
        Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
        for (int p = 0; p < partitions; p++) {
            ends.put(new TopicPartition(topic(request), p), OffsetSpec.latest());
        }
        Deadline deadline = new Deadline(request);
        while (!answered(admin.listOffsets(ends))) {
            deadline.check(() -> topic(request) + " has partitions whose leaders do not lead");
            Thread.sleep(10);
        }
        return row;
    }

    private static boolean answered(ListOffsetsResult asked) throws Exception {
        try {
            asked.all().get();
            return true;
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof UnknownTopicOrPartitionException) {
                return false;
            }
            throw failure;
        }
    }

    private static JsonNode await(JsonNode request, Admin admin, java.util.function.Predicate<TopicDescription> reached) throws Exception {
        Deadline deadline = new Deadline(request);
        TopicDescription description = describe(admin, topic(request));
        while (!reached.test(description)) {
            deadline.check(() -> topic(request) + " did not get into the state that was asked for");
            Thread.sleep(10);
            description = describe(admin, topic(request));
        }
        return row(description);
    }

    private static TopicDescription describe(Admin admin, String topic) throws Exception {
        boolean exists = admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get().contains(topic);
        try {
            return exists ? admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic) : null;
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof UnknownTopicOrPartitionException) {
                return null; // one broker lists it, and another does not know it yet
            }
            throw failure;
        }
    }

    private static ObjectNode row(TopicDescription description) {
        ObjectNode row = Oracle.JSON.createObjectNode().put("exists", description != null);
        if (description != null) {
            row.put("id", description.topicId().toString());
            ArrayNode leaders = row.putArray("leaders");
            ArrayNode replicas = row.putArray("replicas");
            ArrayNode inSync = row.putArray("in_sync");
            description.partitions().forEach(partition -> {
                leaders.add(partition.leader() == null || partition.leader().isEmpty() ? -1 : partition.leader().id());
                ids(partition.replicas()).forEach(replicas.addArray()::add);
                ids(partition.isr()).forEach(inSync.addArray()::add);
            });
        }
        return row;
    }

    private static List<Integer> ids(List<Node> nodes) {
        return nodes.stream().map(Node::id).toList();
    }

    private static Map<Integer, List<Integer>> replicas(JsonNode request) {
        Map<Integer, List<Integer>> replicas = new HashMap<>();
        request.path("replicas").properties().forEach(entry -> {
            List<Integer> brokers = new ArrayList<>();
            entry.getValue().forEach(broker -> brokers.add(broker.asInt()));
            replicas.put(Integer.parseInt(entry.getKey()), brokers);
        });
        return replicas;
    }

    private static String topic(JsonNode request) {
        return request.required("topic").asText();
    }

    private static Map<String, String> strings(JsonNode object) {
        Map<String, String> strings = new HashMap<>();
        object.properties().forEach(entry -> strings.put(entry.getKey(), entry.getValue().asText()));
        return strings;
    }

    static JsonNode with(JsonNode request, Action action) throws Exception {
        Map<String, Object> settings = Client.settings(request);
        settings.put("request.timeout.ms", 10_000);
        settings.put("default.api.timeout.ms", 30_000);
        return action.run(CLIENTS.computeIfAbsent(settings, Admin::create));
    }

    private Administrator() {
    }
}
